/**
 * Plugin: shows the charts of a run when its `telemetry.jsonl` is opened in the file browser. The server
 * parses the file, which may have gigabytes; the page never loads it.
 */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import {
  ABCWidgetFactory,
  type DocumentRegistry,
  DocumentWidget,
  TextModelFactory
} from '@jupyterlab/docregistry';
import type { Contents } from '@jupyterlab/services';
import { IStateDB } from '@jupyterlab/statedb';
import { StackedPanel, Widget } from '@lumino/widgets';
import { trans } from '../views/translation.ts';
import { runsIcon } from './icons.ts';
import { pathOnServer } from './server-path.ts';
import { IRunSources, ISettings } from './tokens.ts';
import { openedTab } from './workspace/tab.tsx';

const FILE_TYPE = 'mosaic-lab-telemetry';
const FACTORY = 'MOSAIC charts';
/** A file in every run's folder. */
const STATE = 'state.json';

/** A model that stays empty: without a format, JupyterLab requests only the file's metadata. */
class NoContent extends TextModelFactory {
  override get name(): string {
    return 'mosaic-lab-no-content';
  }

  override get fileFormat(): Contents.FileFormat {
    return null;
  }
}

class ChartsFactory extends ABCWidgetFactory<DocumentWidget> {
  constructor(
    options: DocumentRegistry.IWidgetFactoryOptions,
    fill: (content: StackedPanel, path: string) => Promise<void>
  ) {
    super(options);
    this._fill = fill;
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget {
    const content = new StackedPanel();
    const widget = new DocumentWidget({ content, context });
    widget.title.icon = runsIcon;
    void this._fill(content, context.localPath);
    return widget;
  }

  private readonly _fill: (content: StackedPanel, path: string) => Promise<void>;
}

export const telemetryFilePlugin: JupyterFrontEndPlugin<void> = {
  id: 'mosaic-lab:telemetry-file',
  description: 'Shows the charts of a run whose telemetry.jsonl is opened.',
  autoStart: true,
  requires: [IRunSources, IStateDB, ISettings],
  optional: [ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    sources: IRunSources,
    states: IStateDB,
    settings: ISettings,
    restorer: ILayoutRestorer | null
  ) => {
    const fill = async (content: StackedPanel, path: string) => {
      const [, store, run] = pathOnServer(path).match(/^(.*)\/([^/]+)\/[^/]+$/) ?? [];
      try {
        const { contents } = app.serviceManager;
        await contents.get(PathExt.join(PathExt.dirname(path), STATE), { content: false });
        const source = sources.source(store ?? '');
        content.addWidget(await openedTab(source, `file of ${run}`, [run ?? ''], states, settings));
      } catch (reason) {
        console.debug('MOSAIC: no charts of', path, reason);
        content.addWidget(text(trans.__('This file is not in the folder of a run, so it has no charts.')));
      }
    };
    app.docRegistry.addFileType({
      name: FILE_TYPE,
      displayName: trans.__('Telemetry of a run'),
      pattern: '^telemetry\\.jsonl$',
      extensions: [],
      fileFormat: 'text',
      contentType: 'file',
      icon: runsIcon
    });
    app.docRegistry.addModelFactory(new NoContent());
    const factory = new ChartsFactory(
      {
        name: FACTORY,
        label: trans.__('MOSAIC charts'),
        modelName: 'mosaic-lab-no-content',
        fileTypes: [FILE_TYPE],
        defaultFor: [FILE_TYPE],
        readOnly: true
      },
      fill
    );
    app.docRegistry.addWidgetFactory(factory);
    const tracker = new WidgetTracker<DocumentWidget>({ namespace: 'mosaic-lab-telemetry' });
    factory.widgetCreated.connect((_, widget) => {
      void tracker.add(widget);
      widget.context.pathChanged.connect(() => void tracker.save(widget));
    });
    void restorer?.restore(tracker, {
      command: 'docmanager:open',
      args: ({ context }) => ({ path: context.path, factory: FACTORY }),
      name: ({ context }) => context.path
    });
  }
};

function text(message: string): Widget {
  const widget = new Widget();
  widget.addClass('jp-RenderedText');
  widget.node.style.padding = '12px';
  widget.node.textContent = message;
  return widget;
}
