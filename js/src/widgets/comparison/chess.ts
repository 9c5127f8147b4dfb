/** Chess as needed by a board: squares, pieces, and the legal moves that match a click. */

export const FILES = 'abcdefgh';

const PIECES: Record<string, string> = {
  p: 'pawn',
  n: 'knight',
  b: 'bishop',
  r: 'rook',
  q: 'queen',
  k: 'king'
};
const PROMOTIONS = ['q', 'r', 'b', 'n'];

/** The pieces of a position in Forsyth-Edwards notation by square; capitals are white. */
export function piecesOf(fen: string): Map<string, string> {
  const pieces = new Map<string, string>();
  const [rows = ''] = fen.split(' ');
  rows.split('/').forEach((row, down) => {
    let file = 0;
    for (const sign of row) {
      if (sign.toLowerCase() in PIECES) pieces.set(`${FILES.charAt(file++)}${8 - down}`, sign);
      else file += Number(sign);
    }
  });
  return pieces;
}

/** "white pawn", or "empty". */
export function pieceName(piece: string | undefined): string {
  if (!piece) return 'empty';
  const color = piece === piece.toUpperCase() ? 'white' : 'black';
  return `${color} ${PIECES[piece.toLowerCase()]}`;
}

/** Moves have the form "e2e4", or "e7e8q" if a pawn becomes a queen. */
export function movesFrom(moves: readonly string[], from: string | null): string[] {
  return from === null ? [] : moves.filter(move => move.startsWith(from));
}

export function targetOf(move: string): string {
  return move.slice(2, 4);
}

/** The promotions among moves that are otherwise equal, the queen first: [piece's name, move]. */
export function promotionsOf(moves: readonly string[]): [piece: string, move: string][] {
  return PROMOTIONS.flatMap(sign => {
    const move = moves.find(candidate => candidate.endsWith(sign));
    return move ? [[PIECES[sign] as string, move] as [string, string]] : [];
  });
}

/** The square beside `square`, null beyond the edge. */
export function neighbour(square: string, [right, up]: readonly [number, number]): string | null {
  const file = FILES[FILES.indexOf(square.charAt(0)) + right];
  const rank = Number(square.charAt(1)) + up;
  return file && rank >= 1 && rank <= 8 ? `${file}${rank}` : null;
}
