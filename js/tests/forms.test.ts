import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  carriedOver,
  changed,
  explained,
  filledOf,
  knownValues,
  matching,
  missing,
  providersOf,
  unlisted,
  withOperatorNames,
  withRuns,
  withSuggestions
} from '../src/extension/forms/form-model.ts';
import { freeName, labVariable, namesIn } from '../src/extension/forms/lab-variable.ts';
import { row } from './memory-source.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    gamma: { type: 'number', default: 0.99, title: 'gamma', description: 'the discount factor' },
    layers: { type: 'string', default: '[64, 64]', title: 'layers' },
    clip: { type: 'number', title: 'clip' }
  }
};

test("the variable of a notebook's Lab is found; the last assignment wins", () => {
  assert.equal(labVariable(['import mosaic_lab as mosaic\nlab = mosaic.Lab()']), 'lab');
  assert.equal(labVariable(['a = Lab()', 'x = 1\nb: mosaic.Lab = mosaic.Lab("store")']), 'b');
  assert.equal(labVariable(['import mosaic_lab as mosaic; lab = mosaic.Lab()']), 'lab');
  assert.equal(labVariable(['# lab = mosaic.Lab()', 'print("lab = Lab()")', 'lab == Lab()']), null);
});

test('a cell assigns no name used in other cells, and shares their import of the package', () => {
  const taken = namesIn(['import mosaic_lab as mosaic\nlab = 3', 'größe = lab_2']);
  assert.ok(taken.includes('größe') && !taken.includes('mosaic'));
  assert.equal(freeName('lab', taken), 'lab_3');
  assert.ok(namesIn(['mosaic = "a picture"']).includes('mosaic'));
  for (const line of ['# import mosaic_lab as mosaic', 'x = "import mosaic_lab as mosaic"']) {
    assert.ok(namesIn([line, 'mosaic = "a picture"']).includes('mosaic'), line);
    assert.ok(namesIn([`import mosaic_lab as mosaic\n${line}`, 'ｍosaic = 1']).includes('mosaic'), line);
  }
  const used = ['import os; import mosaic_lab as mosaic  # ours', 'lab = mosaic.Lab()'];
  assert.ok(!namesIn(used).includes('mosaic'));
});

test('names are compared after Python’s normalization', () => {
  const taken = namesIn(['𝐫𝐮𝐧 = 1\nｌａｂ = 2\nﬁt = e\u0301v = 3']);
  for (const name of ['run', 'lab', 'fit', '\u00e9v']) assert.ok(taken.includes(name), name);
  assert.ok(namesIn(['a·b = ℘x = 1']).includes('a·b'), 'Python continues names with more than letters');
});

test('the code contains only values that differ from the defaults', () => {
  assert.deepEqual(changed(SCHEMA, { gamma: 0.99, layers: '[32]', clip: undefined, other: 1 }), {
    layers: '[32]'
  });
});

test('changed values are carried over to another algorithm with the same field', () => {
  const other = { properties: { gamma: { default: 0.9 } } };
  assert.deepEqual(carriedOver(SCHEMA, other, { gamma: 0.5, clip: 1 }), { gamma: 0.5 });
  assert.deepEqual(
    carriedOver(SCHEMA, other, { gamma: 0.99 }),
    {},
    'a default does not override another default'
  );
});

test('fields are found by name and description', () => {
  assert.deepEqual(Object.keys(matching(SCHEMA, 'Discount').properties), ['gamma']);
  assert.equal(matching(SCHEMA, ' '), SCHEMA);
});

test('numbers outside their limits are explained, and empty required fields are not errors', () => {
  const errors = [
    { name: 'maximum', params: { limit: 1 }, message: 'must be <= 1' },
    { name: 'exclusiveMinimum', params: { limit: 0 }, message: 'must be > 0' },
    { name: 'minimum', params: { limit: 1 }, message: 'must be >= 1' },
    { name: 'type', params: {}, message: 'must be integer' },
    { name: 'required', params: {}, message: "must have required property 'env'" },
    { name: 'if', params: {}, message: 'must match "then" schema' }
  ];
  assert.deepEqual(
    explained(errors, {}).map(error => error.message),
    ['is more than 1', 'is not above 0', 'is less than 1', 'must be integer']
  );
});

test('a value that does not match its pattern is explained in words', () => {
  const schema = { properties: { seeds: { patternMessage: 'give 1, or 0-4' } } };
  const error = { name: 'pattern', property: '.seeds', message: 'must match pattern "^\\d+$"' };
  assert.equal(explained([error], schema)[0]?.message, 'give 1, or 0-4');
  assert.equal(explained([error], {})[0]?.message, error.message);
});

test('a form without a required value makes no code', () => {
  const schema = { required: ['env'], properties: {} };
  assert.deepEqual(missing(schema, {}), ['env']);
  assert.deepEqual(missing(schema, { env: '' }), ['env']);
  assert.deepEqual(missing(schema, { env: 'CartPole-v1' }), []);
});

const OPERATORS = {
  properties: {
    operators: {
      items: {
        required: ['name'],
        properties: { name: { title: 'Name' } },
        allOf: [
          {
            if: { properties: { kind: { const: 'rl' } } },
            // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema
            then: { required: ['run'], properties: { run: { title: 'Run' } } }
          }
        ]
      }
    }
  }
};

test('an operator that needs a run is incomplete without one', () => {
  const lacking = (...operators: object[]) => missing(OPERATORS, { operators });
  assert.deepEqual(lacking({ name: 'a', kind: 'random' }), []);
  assert.deepEqual(lacking({ name: 'a', kind: 'rl' }), ['Run']);
  assert.deepEqual(lacking({ kind: 'rl', run: '' }, { name: 'b', kind: 'rl' }), ['Name', 'Run']);
  assert.deepEqual(lacking({ name: 'a', kind: 'rl', run: 'k3f9' }), []);
});

test('the trainings of the store are suggested for a trained policy', () => {
  const rows = [row('b'), row('films', { kind: 'films' }), row('a'), row('new', { step: null })];
  const { properties } = withRuns(OPERATORS, rows);
  const [condition] = properties?.operators?.items?.allOf ?? [];
  assert.deepEqual(condition?.then.properties?.run, { title: 'Run', examples: ['b', 'a'] });
  assert.deepEqual(withRuns(SCHEMA, rows), SCHEMA, 'a form without operators');
});

test('the servers of the store and the provider’s models are suggested for a language model', () => {
  const models = {
    properties: {
      operators: {
        items: {
          allOf: [
            {
              if: { properties: { kind: { const: 'llm' } } },
              // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema
              then: { properties: { model: { title: 'Model' } } }
            }
          ]
        }
      }
    }
  };
  const rows = [row('served', { kind: 'server', alive: true }), row('gone', { kind: 'server' })];
  const { properties } = withSuggestions(withRuns(models, rows), 'model', ['a/b']);
  const [condition] = properties?.operators?.items?.allOf ?? [];
  assert.deepEqual(condition?.then.properties?.model, { title: 'Model', examples: ['served', 'a/b'] });
  const operators = [{ provider: 'openrouter' }, { kind: 'random' }, { provider: 'openrouter' }];
  assert.deepEqual(providersOf({ operators }), ['openrouter']);
});

test('an operator is named after its kind until the user names it', () => {
  const random = { name: 'random', kind: 'random' };
  const named = (before: object[], after: object[]) =>
    withOperatorNames({ operators: before }, { operators: after }).operators;
  assert.deepEqual(named([random], [{ ...random, kind: 'rl' }]), [{ name: 'rl', kind: 'rl' }]);
  const mine = { name: 'mine', kind: 'random' };
  assert.deepEqual(named([mine], [{ ...mine, kind: 'rl' }]), [{ name: 'mine', kind: 'rl' }]);
  const added = [random, { name: 'random 2', kind: 'random' }];
  assert.deepEqual(named([random], [random, { kind: 'random' }]), added);
  const llm = { name: 'llm', kind: 'llm' };
  assert.deepEqual(named([random, llm], [llm, random]), [llm, random], 'moved');
  const unchanged = { operators: [{ kind: 'random' }] };
  assert.equal(withOperatorNames(unchanged, unchanged), unchanged, 'a name may be deleted');
});

test('saved values are restored for fields that the form still has', () => {
  const kept = { worker: 'toy', algorithm: 3, values: { gamma: 0.9, gone: 1 }, hyperparameters: [] };
  const filled = filledOf(kept);
  assert.deepEqual(filled, {
    ...{ worker: 'toy', algorithm: null },
    ...{ values: { gamma: 0.9, gone: 1 }, hyperparameters: {} }
  });
  assert.deepEqual(knownValues(SCHEMA, filled.values), { gamma: 0.9 });
  assert.deepEqual(filledOf(undefined).values, {});
});

test('an environment that no worker lists is reported with similar names', () => {
  const schema = { properties: { env: { examples: ['CartPole-v1', 'Acrobot-v1', 'ALE/Pong-v5'] } } };
  assert.equal(unlisted(schema, { env: 'CartPole-v1' }), null);
  assert.deepEqual(unlisted(schema, { env: 'cart-pole-v0' }), {
    value: 'cart-pole-v0',
    similar: ['CartPole-v1']
  });
  assert.deepEqual(unlisted(schema, { env: 'Own-v0' }), { value: 'Own-v0', similar: [] });
  assert.equal(unlisted({ properties: { env: {} } }, { env: 'Own-v0' }), null);
});
