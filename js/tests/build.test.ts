// Build of the page's code: the minimizer keeps the style sheets' selectors.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

const folder = mkdtempSync(path.join(tmpdir(), 'mosaic-lab-build-'));
after(() => rmSync(folder, { recursive: true }));

test('built style sheets keep the selectors of their sources and their specificity', () => {
  const widgets = path.join(folder, 'widgets');
  const build = path.join(import.meta.dirname, '..', 'build.js');
  execFileSync(process.execPath, [build, path.join(folder, 'extension'), widgets]);
  const sheets = readdirSync(widgets).filter(name => name.endsWith('.css'));
  const text = sheets.map(name => readFileSync(path.join(widgets, name), 'utf8')).join('');
  assert.match(text, /\.mosaic-table :is\(th, ?td\)/);
  assert.doesNotMatch(text, /:-(webkit|moz)-any\(/);
});
