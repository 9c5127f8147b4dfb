/** A form for a new training, evaluation or comparison, with the generated code. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { type JSX, useEffect, useMemo, useReducer, useState } from 'react';

import type { FormAnswer, FormKind, RunRow } from '../../shared/run-api.ts';
import { latestRows, type RunSource } from '../../shared/run-source.ts';
import { messageOf } from '../../shared/transport.ts';
import { Select } from '../../views/controls.tsx';
import { trans } from '../../views/translation.ts';
import { useAnswer } from '../../views/use-answer.ts';
import type { SavedState } from '../saved-state.ts';
import type { IRunSources } from '../tokens.ts';
import { stateText } from '../workers/worker-text.ts';
import { Fields, validator } from './form-fields.tsx';
import {
  carriedOver,
  changed,
  explained,
  type Filled,
  knownValues,
  matching,
  missing,
  providersOf,
  unlisted,
  type Values,
  withOperatorNames,
  withRuns,
  withSuggestions
} from './form-model.ts';
import { insertCell, labOf } from './notebook-cell.ts';

interface FormProps {
  readonly app: JupyterFrontEnd;
  readonly tracker: INotebookTracker;
  readonly sources: IRunSources;
  readonly kind: FormKind;
  readonly kept: SavedState;
  /** The initial values. */
  readonly filled: Filled;
}

const SETTLED_MS = 200;
const FIRST_WORKER = 'cleanrl';

const once = () => null;

/** The Lab of a notebook; follows its cells. */
function useLab(panel: NotebookPanel | null): ReturnType<typeof labOf> {
  const model = panel?.content.model;
  const [, render] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    model?.contentChanged.connect(render);
    return () => void model?.contentChanged.disconnect(render);
  }, [model]);
  return labOf(panel);
}

/** The runs of a store, which operators may name; empty without one. */
function useRuns(store: RunSource | undefined): readonly RunRow[] {
  const [rows, setRows] = useState<readonly RunRow[]>([]);
  useEffect(() => {
    let current = true;
    setRows([]);
    if (store) void latestRows(store).then(latest => current && setRows(latest));
    return () => {
      current = false;
    };
  }, [store]);
  return rows;
}

/** The models of some providers, whose names are separated by spaces, or why they cannot be listed. */
function useModels(sources: IRunSources, providers: string): { models: readonly string[]; problem: string } {
  const [models, setModels] = useState<readonly string[]>([]);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let current = true;
    setProblem('');
    const lists = providers.split(' ').filter(Boolean);
    Promise.all(lists.map(provider => sources.call('models', { provider }))).then(
      answers => current && setModels(answers.flatMap(({ result }) => result.names)),
      reason => current && setProblem(messageOf(reason))
    );
    return () => {
      current = false;
    };
  }, [providers, sources]);
  return { models, problem };
}

/** A form for a cell of the current notebook. */
export function FormView({ app, tracker, sources, kind, kept, filled }: FormProps): JSX.Element {
  const [chosenWorker, setWorker] = useState(filled.worker);
  const [algorithm, setAlgorithm] = useState<string | null>(filled.algorithm);
  const [seen, see] = useState<FormAnswer | null>(null);
  const [values, setValues] = useState<Values>(filled.values);
  const [hyperparameters, setHyperparameters] = useState<Values>(filled.hyperparameters);

  const training = kind === 'training';
  const panel = tracker.currentWidget?.content.model ? tracker.currentWidget : null;
  const { name: lab, setup, taken } = useLab(panel);
  const kernel = panel?.sessionContext.session?.kernel?.id;
  const store = sources.sources.find(({ kernelId }) => kernelId !== null && kernelId === kernel);
  const rows = useRuns(training ? undefined : store);
  const listed = useAnswer(sources, 'workers', training ? {} : null, once);
  const workers = listed.latest?.result.rows.filter(row => row.trains && row.state !== 'broken');
  const named = (name: string | null) => workers?.find(row => row.name === name);
  const worker = (named(chosenWorker) ?? named(FIRST_WORKER) ?? workers?.[0])?.name ?? null;
  const choice = { ...(worker === null ? {} : { worker }), ...(algorithm === null ? {} : { algorithm }) };
  const offered = useAnswer(sources, 'forms', training && worker === null ? null : { kind, ...choice }, once);
  const form = offered.latest?.result ?? null;
  if (form && form !== seen) {
    const after = form.hyperparameters ?? {};
    see(form);
    setHyperparameters(carriedOver(seen?.hyperparameters ?? after, after, hyperparameters));
    setValues(knownValues(form.schema, values));
  }

  const hyperparameterSchema = form?.hyperparameters;
  const { models, problem: unreached } = useModels(sources, providersOf(values).join(' '));
  const schema = useMemo(
    () => form && withSuggestions(withRuns(form.schema, rows), 'model', models),
    [form, rows, models]
  );
  const unknown = form && unlisted(form.schema, values);
  const outside = hyperparameterSchema ? mistakes(hyperparameterSchema, hyperparameters) : [];
  const wrong = form ? [...mistakes(form.schema, values), ...outside] : [];
  const lacking = form ? missing(form.schema, values) : [];
  const differing = changed(hyperparameterSchema ?? {}, hyperparameters);

  const ready = form !== null && wrong.length === 0 && lacking.length === 0;
  const all = { ...values, worker, algorithm: form?.algorithm, hyperparameters: differing };
  const request = { kind, values: training ? all : values, lab, taken };
  const coded = useAnswer(sources, 'code', ready && offered.answer ? request : null, once, '', SETTLED_MS);
  const code = (ready && !coded.problem && coded.latest?.result.code) || '';
  const error = listed.problem || offered.problem || coded.problem;

  useEffect(() => {
    if (form) kept.save({ worker, algorithm: form.algorithm ?? null, values, hyperparameters });
  }, [form, worker, values, hyperparameters, kept]);

  const chosen = named(worker);
  function insert(): void {
    if (!panel) return;
    insertCell(panel, `${setup}${code}`);
    app.shell.activateById(panel.id);
  }
  /** The next step, below the button; empty if an error explains it. */
  function hint(): string {
    if (form && lacking.length > 0) return trans.__('Fill in: %1.', lacking.join(', '));
    if (outside.length > 0) return trans.__('Correct first: %1.', outside.join(', '));
    if (wrong.length > 0) return trans.__('Correct the marked values first.');
    if (error) return '';
    if (!form) return trans.__('Looking up what the worker offers …');
    if (!panel) return trans.__('Open a notebook to insert the cell into.');
    const { label } = panel.title;
    return trans.__('Goes into %1, below the active cell. Nothing starts until you run it.', label);
  }
  return (
    <div className="mosaic-form">
      {training && workers && (
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
      {hyperparameterSchema && (
        <Hyperparameters
          schema={hyperparameterSchema}
          values={hyperparameters}
          changes={Object.keys(differing).length}
          onChange={filled => setHyperparameters({ ...hyperparameters, ...filled })}
        />
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
          disabled={!coded.answer || !panel}
          onClick={insert}
        >
          {trans.__('Insert cell')}
        </button>
        <p>{hint()}</p>
      </div>
    </div>
  );
}

interface HyperparametersProps {
  readonly schema: NonNullable<FormAnswer['hyperparameters']>;
  readonly values: Values;
  /** How many differ from their defaults. */
  readonly changes: number;
  onChange(filled: Values): void;
}

/** The hyperparameters of an algorithm, folded up at first. */
function Hyperparameters({ schema, values, changes, onChange }: HyperparametersProps): JSX.Element | null {
  const [search, setSearch] = useState('');
  const count = Object.keys(schema.properties ?? {}).length;
  if (count === 0) return null;
  return (
    <details className="mosaic-form-hyperparameters">
      <summary>
        {trans._n('%1 hyperparameter', '%1 hyperparameters', count)}
        {changes > 0 && ` · ${trans.__('%1 changed', changes)}`}
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
        schema={matching(schema, search)}
        values={values}
        marksChanges
        onChange={onChange}
      />
    </details>
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
