// All text shown to users goes through JupyterLab's translation: search the sources of the extension and the
// views for literals that do not.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const SOURCES = path.join(import.meta.dirname, '..', 'src');
const SHOWN = new Set([
  'title',
  'placeholder',
  'alt',
  'label',
  'caption',
  'aria-label',
  'textContent',
  'ariaLabel'
]);
const EITHER = new Set([
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
  ts.SyntaxKind.PlusToken
]);
/** Errors whose messages are shown to users; other errors report faults in our code. */
const ERRORS = new Set(['Error', 'Unreachable']);

/** Whether a string contains words, not only signs, numbers and short units. */
function hasWords(text: string): boolean {
  return /\p{L}{3}/u.test(text);
}

function files(folder: string): string[] {
  return readdirSync(path.join(SOURCES, folder), { recursive: true })
    .map(name => path.join(SOURCES, folder, String(name)))
    .filter(name => /\.tsx?$/.test(name));
}

/** The literals that a node shows without translation. */
function literals(node: ts.Node): string[] {
  if (ts.isJsxText(node)) {
    const isCode = ts.isJsxElement(node.parent) && node.parent.openingElement.tagName.getText() === 'code';
    return hasWords(node.text) && !isCode ? [node.text.trim()] : [];
  }
  const value = shownValue(node);
  return value ? texts(value).filter(hasWords) : [];
}

/** The value of an attribute or property that users see. */
function shownValue(node: ts.Node): ts.Node | undefined {
  if (ts.isJsxAttribute(node) && SHOWN.has(node.name.getText())) return node.initializer;
  if (ts.isJsxExpression(node) && ts.isJsxElement(node.parent)) return node.expression;
  if (ts.isPropertyAssignment(node) && SHOWN.has(node.name.getText().replace(/['"]/g, ''))) {
    return node.initializer;
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    return ts.isPropertyAccessExpression(node.left) && SHOWN.has(node.left.name.text)
      ? node.right
      : undefined;
  }
  if (ts.isNewExpression(node) && ERRORS.has(node.expression.getText())) return node.arguments?.[0];
  if (ts.isCallExpression(node) && /\.setAttribute$/.test(node.expression.getText())) {
    const [name, value] = node.arguments;
    return name && ts.isStringLiteral(name) && SHOWN.has(name.text) ? value : undefined;
  }
  return undefined;
}

/** The literals that an expression may evaluate to, in all of its branches. */
function texts(node: ts.Node): string[] {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map(span => span.literal.text)];
  }
  if (ts.isConditionalExpression(node)) return [...texts(node.whenTrue), ...texts(node.whenFalse)];
  if (ts.isBinaryExpression(node)) {
    const kind = node.operatorToken.kind;
    return kind === ts.SyntaxKind.AmpersandAmpersandToken
      ? texts(node.right)
      : EITHER.has(kind)
        ? [...texts(node.left), ...texts(node.right)]
        : []; // a comparison
  }
  if (ts.isJsxExpression(node) || ts.isParenthesizedExpression(node)) {
    return node.expression ? texts(node.expression) : [];
  }
  return [];
}

function found(name: string, text = readFileSync(name, 'utf8')): string[] {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const all: string[] = [];
  const visit = (node: ts.Node): void => {
    for (const literal of literals(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      all.push(`${path.relative(SOURCES, name)}:${line + 1}: ${literal}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...new Set(all)];
}

test('the search finds text in every place that users see', () => {
  const shown = [
    "node.title = 'One run';",
    "throw new Error('No run');",
    "node.setAttribute('aria-label', busy ? 'Two runs' : trans.__('Idle'));",
    "add({ label: 'Three runs' });",
    'const a = <p>Four runs</p>;',
    "const b = <p title='Five runs'>{many ? count + ' runs' : ''}</p>;"
  ];
  for (const line of shown) assert.notDeepEqual(found('example.tsx', line), [], line);
  assert.deepEqual(found('example.tsx', "node.title = trans.__('One run');"), []);
});

test('every text of the extension, the views and their shared code is translated', () => {
  assert.deepEqual(
    [...files('extension'), ...files('shared'), ...files('views')].flatMap(name => found(name)),
    []
  );
});
