// A chess board of squares over a lane's picture, white at the bottom: a person moves by a click on the piece and one on the square
// it goes to, or by arrow keys and Enter.
const FILES = "abcdefgh";
const PIECES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };
const PROMOTIONS = ["q", "r", "b", "n"];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// The pieces of a position in Forsyth-Edwards notation: {square: letter}, capitals are white's.
function piecesOf(fen) {
  const found = {};
  fen.split(" ")[0].split("/").forEach((row, down) => {
    let file = 0;
    for (const sign of row) {
      if (sign in PIECES || sign.toLowerCase() in PIECES) found[`${FILES[file++]}${8 - down}`] = sign;
      else file += Number(sign);
    }
  });
  return found;
}

class Board {
  constructor() {
    this.el = element("div", "mosaic-board");
    this.el.setAttribute("role", "grid");
    this.squares = new Map();
    for (let rank = 8; rank >= 1; rank--) {
      const row = element("div", "mosaic-board-row", this.el);
      row.setAttribute("role", "row");
      for (const file of FILES) this.squares.set(`${file}${rank}`, this.square(row, `${file}${rank}`));
    }
    this.promotion = element("div", "mosaic-promotion", this.el);
    this.promotion.setAttribute("role", "group");
    this.promotion.setAttribute("aria-label", "promote to");
    this.promotion.hidden = true;
    this.pad = this.from = this.played = null;
    this.moves = [];
    this.pieces = {};
    this.at("e2");
    // What is pressed and clicked here is meant for the board, not for the picture below it.
    this.el.addEventListener("keydown", (event) => this.key(event));
    this.el.addEventListener("click", (event) => event.stopPropagation());
  }

  square(row, name) {
    const node = element("button", "mosaic-square", row);
    node.type = "button";
    node.dataset.square = name;
    node.setAttribute("role", "gridcell");
    node.tabIndex = -1;
    node.onclick = () => this.click(name);
    node.onfocus = () => this.at(name);
    keepsKeys(node);
    return node;
  }

  // `pad` is that of the person whose turn it is; null between turns.
  draw(pad) {
    this.pad = pad;
    const board = pad?.person.board ?? null;
    if (board) {
      this.el.setAttribute("aria-label", `chess board of ${pad.agent}`);
      this.pieces = piecesOf(board.fen);
    }
    this.moves = board && board.fen !== this.played ? board.moves : [];
    if (!this.goals(this.from).length) this.choose(null);
    else this.paint();
  }

  // The person's move could not be played.
  refuse() {
    this.played = null;
  }

  goals(from) {
    return from === null ? [] : this.moves.filter((move) => move.startsWith(from));
  }

  click(name) {
    this.at(name);
    const moves = this.goals(this.from).filter((move) => move.slice(2, 4) === name);
    if (moves.length > 1) this.promote(moves);
    else if (moves.length) this.play(moves[0]);
    else this.choose(name !== this.from && this.goals(name).length ? name : null);
  }

  choose(name) {
    this.from = name;
    this.promotion.hidden = true;
    this.paint();
  }

  promote(moves) {
    this.promotion.replaceChildren();
    for (const piece of PROMOTIONS) {
      const move = moves.find((one) => one.endsWith(piece));
      if (move) keepsKeys(button(this.promotion, PIECES[piece], `promote to a ${PIECES[piece]}`, () => this.play(move)));
    }
    this.promotion.hidden = false;
    this.promotion.firstChild.focus({ preventScroll: true });
  }

  play(move) {
    this.played = this.pad.person.board.fen;
    this.moves = [];
    this.choose(null);
    this.focus();
    this.pad.play(move);
  }

  // Only one square is reached with Tab; the arrows go on from it.
  at(name) {
    if (this.current) this.squares.get(this.current).tabIndex = -1;
    this.current = name;
    this.squares.get(name).tabIndex = 0;
  }

  focus() {
    this.squares.get(this.current).focus({ preventScroll: true });
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.key === "Tab") return;
    event.stopPropagation();
    if (event.key === "Escape") {
      if (this.from === null) document.activeElement?.blur();
      this.choose(null);
    }
    const arrow = ARROWS[event.key];
    if (!arrow || !this.promotion.hidden) return;
    event.preventDefault();
    const file = FILES[FILES.indexOf(this.current[0]) + arrow[0]];
    const name = `${file}${Number(this.current[1]) + arrow[1]}`;
    if (this.squares.has(name)) this.at(name);
    this.focus();
  }

  paint() {
    const targets = new Set(this.goals(this.from).map((move) => move.slice(2, 4)));
    const movable = new Set(this.moves.map((move) => move.slice(0, 2)));
    for (const [name, node] of this.squares) {
      const piece = this.pieces[name];
      const who = piece ? `${piece === piece.toUpperCase() ? "white" : "black"} ${PIECES[piece.toLowerCase()]}` : "empty";
      node.classList.toggle("mosaic-movable", movable.has(name));
      node.classList.toggle("mosaic-target", targets.has(name));
      node.classList.toggle("mosaic-taken", Boolean(piece));
      node.setAttribute("aria-selected", name === this.from);
      node.setAttribute("aria-label", `${name} ${who}${targets.has(name) ? ", legal" : ""}`);
    }
  }
}
