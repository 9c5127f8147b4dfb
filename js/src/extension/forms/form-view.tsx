/** A form for a new training, evaluation or comparison, with the generated code. */

import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { type JSX, useEffect, useMemo, useRef, useState } from 'react';

import type { FormAnswer, FormKind, WorkerRow } from '../../shared/run-api.ts';
import { messageOf } from '../../shared/transport.ts';
import { Select } from '../../views/controls.tsx';
import { trans } from '../../views/translation.ts';
import { stateText } from '../workers/worker-text.ts';
import { Fields, validator } from './form-fields.tsx';
import {
  carriedOver,
  changed,
  explained,
  type Filled,
  known,
  matching,
  missing,
  providersOf,
  unlisted,
  type Values,
  withOperatorNames,
  withSuggestions
} from './form-model.ts';

/** The form's interface to the kernel or the server; errors have a message for the user. */
export interface FormSource {
  workers(): Promise<readonly WorkerRow[]>;
  form(kind: FormKind, worker: string | null, algorithm: string | null): Promise<FormAnswer>;
  models(provider: string): Promise<readonly string[]>;
  code(kind: FormKind, values: Values): Promise<string>;
}

interface Props {
  readonly kind: FormKind;
  readonly source: FormSource;
  /** The target of the cell, such as "Untitled.ipynb"; null without a notebook. */
  readonly target: string | null;
  /** The initial values. */
  readonly filled: Filled;
  insert(code: string): void;
  /** Store the current values. */
  keep(filled: Filled): void;
}

const SETTLED_MS = 200;
const FIRST_WORKER = 'cleanrl';

export function FormView({ kind, source, target, filled, insert, keep }: Props): JSX.Element {
  const [workers, setWorkers] = useState<readonly WorkerRow[] | null>(kind === 'training' ? null : []);
  const [worker, setWorker] = useState<string | null>(null);
  const [algorithm, setAlgorithm] = useState<string | null>(filled.algorithm);
  const [form, setForm] = useState<FormAnswer | null>(null);
  const [values, setValues] = useState<Values>(filled.values);
  const [hyperparameters, setHyperparameters] = useState<Values>(filled.hyperparameters);
  const [search, setSearch] = useState('');
  const [code, setCode] = useState('');
  const [error, setError] = useState('');
  const [models, setModels] = useState<readonly string[]>([]);
  const [unreached, setUnreached] = useState('');
  const latest = useRef(0);
  const own = form?.hyperparameters;
  const schema = useMemo(() => form && withSuggestions(form.schema, 'model', models), [form, models]);
  const providers = providersOf(values).join(' ');
  const unknown = form && unlisted(form.schema, values);
  const outside = own ? mistakes(own, hyperparameters) : [];
  const wrong = form ? [...mistakes(form.schema, values), ...outside] : [];

  useEffect(() => {
    if (kind === 'training') {
      source.workers().then(rows => {
        const train = rows.filter(row => row.trains && row.state !== 'broken');
        setWorkers(train);
        const named = (name: string | null) => train.find(row => row.name === name);
        setWorker((named(filled.worker) ?? named(FIRST_WORKER) ?? train[0])?.name ?? null);
      }, fail);
    }
  }, [kind, source]);

  useEffect(() => {
    if (kind === 'training' && worker === null) return;
    let current = true;
    source.form(kind, worker, algorithm).then(answer => {
      if (current) {
        const after = answer.hyperparameters ?? {};
        setHyperparameters(old => carriedOver(form?.hyperparameters ?? after, after, old));
        setValues(old => known(answer.schema, old));
        setForm(answer);
        setError('');
      }
    }, fail);
    return () => {
      current = false;
    };
    // `form` is read only for its previous value.
  }, [kind, worker, algorithm, source]);

  useEffect(() => {
    let current = true;
    setUnreached('');
    const lists = providers.split(' ').filter(Boolean).map(source.models);
    Promise.all(lists).then(
      names => current && setModels(names.flat()),
      reason => current && setUnreached(messageOf(reason))
    );
    return () => {
      current = false;
    };
  }, [providers, source]);

  useEffect(() => {
    const number = ++latest.current;
    if (!form || wrong.length > 0 || missing(form.schema, values).length) {
      setCode('');
      if (form) setError('');
      return;
    }
    const timer = window.setTimeout(() => {
      const own = changed(form.hyperparameters ?? {}, hyperparameters);
      const all = { ...values, worker, algorithm: form.algorithm, hyperparameters: own };
      source.code(kind, kind === 'training' ? all : values).then(
        text => {
          if (number === latest.current) {
            setCode(text);
            setError('');
          }
        },
        reason => {
          if (number === latest.current) {
            setCode('');
            fail(reason);
          }
        }
      );
    }, SETTLED_MS);
    return () => window.clearTimeout(timer);
  }, [form, values, hyperparameters, wrong.length, kind, source]);

  useEffect(() => {
    if (form) keep({ worker, algorithm: form.algorithm ?? null, values, hyperparameters });
  }, [form, worker, values, hyperparameters, keep]);

  function fail(reason: unknown): void {
    setError(messageOf(reason));
  }

  const chosen = workers?.find(row => row.name === worker);
  const count = Object.keys(own?.properties ?? {}).length;
  const lacking = form ? missing(form.schema, values) : [];
  const differing = own ? Object.keys(changed(own, hyperparameters)).length : 0;
  /** The next step, below the button; empty if an error explains it. */
  function hint(): string {
    if (form && lacking.length > 0) return trans.__('Fill in: %1.', lacking.join(', '));
    if (outside.length > 0) return trans.__('Correct first: %1.', outside.join(', '));
    if (wrong.length > 0) return trans.__('Correct the marked values first.');
    if (error) return '';
    if (!form) return trans.__('Looking up what the worker offers …');
    if (target === null) return trans.__('Open a notebook to insert the cell into.');
    return trans.__('Goes into %1, below the active cell. Nothing starts until you run it.', target);
  }
  return (
    <div className="mosaic-form">
      {kind === 'training' && workers && (
        <div className="mosaic-form-choices">
          <label>
            {trans.__('Worker')}
            <Select
              className="jp-mod-styled"
              value={worker ?? ''}
              options={workers.map(row => [
                row.name,
                row.state === 'installed' ? row.name : `${row.name} (${stateText(row)})`
              ])}
              choose={name => {
                setWorker(name);
                setAlgorithm(null);
              }}
            />
          </label>
          {form?.algorithms && form.algorithms.length > 0 && (
            <label>
              {trans.__('Algorithm')}
              <Select
                className="jp-mod-styled"
                value={form.algorithm ?? ''}
                options={form.algorithms.map(name => [name, name])}
                choose={setAlgorithm}
              />
            </label>
          )}
          {chosen && <p className="mosaic-form-about">{chosen.about}</p>}
        </div>
      )}
      {form?.note && <p className="mosaic-form-note">{form.note}</p>}
      {unknown !== null && (
        <p className="mosaic-form-note" role="status">
          {trans.__('The environment %1 is not among those that installed workers list.', unknown.value)}{' '}
          {unknown.similar.length > 0 && trans.__('Similar ones: %1.', unknown.similar.join(', '))}
        </p>
      )}
      {unreached && (
        <p className="mosaic-form-note" role="status">
          {unreached}
        </p>
      )}
      {schema && (
        <Fields
          id={kind}
          schema={schema}
          values={values}
          onChange={filled => setValues(withOperatorNames(values, filled))}
        />
      )}
      {own && count > 0 && (
        <details className="mosaic-form-hyperparameters">
          <summary>
            {trans._n('%1 hyperparameter', '%1 hyperparameters', count)}
            {differing > 0 && ` · ${trans.__('%1 changed', differing)}`}
          </summary>
          <input
            type="search"
            className="jp-mod-styled"
            aria-label={trans.__('Find a hyperparameter')}
            placeholder={trans.__('Find a hyperparameter')}
            value={search}
            onChange={event => setSearch(event.target.value)}
          />
          <Fields
            id="hyperparameters"
            schema={matching(own, search)}
            values={hyperparameters}
            marksChanges
            onChange={filled => setHyperparameters({ ...hyperparameters, ...filled })}
          />
        </details>
      )}
      {error && (
        <p className="mosaic-form-error" role="alert">
          {error}
        </p>
      )}
      <div className="mosaic-form-code">
        {code !== '' && (
          <textarea
            className="jp-mod-styled"
            readOnly
            aria-label={trans.__('The code of the cell')}
            rows={code.split('\n').length}
            value={code}
          />
        )}
        <button
          type="button"
          className="jp-mod-styled jp-mod-accept"
          disabled={code === '' || target === null}
          onClick={() => insert(code)}
        >
          {trans.__('Insert cell')}
        </button>
        <p>{hint()}</p>
      </div>
    </div>
  );
}

/** The errors in values, whether or not their fields are shown, such as "gamma: 2 is more than 1". */
function mistakes(schema: object, values: Values): string[] {
  const { errors } = validator.validateFormData(values as ReadonlyJSONObject, schema);
  return explained(errors, schema).map(({ property = '', message }) => {
    const name = property.slice(1); // after a dot
    return `${name}: ${values[name]} ${message}`;
  });
}
