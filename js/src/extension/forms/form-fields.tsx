/** The fields of a form. */

import { FormComponent } from '@jupyterlab/ui-components';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { customizeValidator } from '@rjsf/validator-ajv8';
import { type JSX, useEffect, useRef } from 'react';

import { explained, type Values } from './form-model.ts';

export const validator = customizeValidator<ReadonlyJSONObject>();

/** The fields of one schema, in JupyterLab's own form. */
export function Fields(props: {
  id: string;
  schema: object;
  values: Values;
  marksChanges?: boolean;
  onChange(values: Values): void;
}): JSX.Element {
  const node = useRef<HTMLDivElement>(null);
  // JupyterLab's form shows the titles of its fields but does not associate them with the inputs, and adds
  // fields without rendering this component.
  useEffect(() => {
    const root = node.current;
    if (!root) return;
    labelInputs(root);
    const added = new MutationObserver(() => labelInputs(root));
    added.observe(root, { childList: true, subtree: true });
    return () => added.disconnect();
  }, []);
  return (
    <div ref={node}>
      <FormComponent
        schema={props.schema}
        uiSchema={{ 'ui:submitButtonOptions': { norender: true } }}
        validator={validator}
        formData={props.values as ReadonlyJSONObject}
        liveValidate
        showErrorList={false}
        compact
        showModifiedFromDefault={props.marksChanges ?? false}
        idPrefix={`mosaic-${props.id}`}
        transformErrors={errors => explained(errors, props.schema)}
        onChange={({ formData }) => props.onChange(formData ?? {})}
      />
    </div>
  );
}

function labelInputs(root: Element): void {
  for (const input of root.querySelectorAll('input, select, textarea')) {
    const title = input.closest('.form-group')?.querySelector('.jp-FormGroup-fieldLabel')?.textContent;
    if (title && !input.hasAttribute('aria-label')) input.setAttribute('aria-label', title);
  }
}
