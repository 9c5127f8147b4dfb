/**
 * Plugin: the user's settings. The schema, `js/schema/settings.json`, also declares the menu "MOSAIC", the
 * context menu of cells and the shortcuts, which JupyterLab creates from it.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Signal } from '@lumino/signaling';

// Imported because the schema names it: JupyterLab finds the icon once its module was loaded.
import './icons.ts';
import { type IMosaicSettings, ISettings } from './tokens.ts';

const ID = 'mosaic-lab:settings';
const DEFAULTS: IMosaicSettings = { notifications: 'all', smoothing: 0, x: 'step' };

export class Settings {
  /** The user's choice, otherwise the default. */
  get<Name extends keyof IMosaicSettings>(name: Name): IMosaicSettings[Name] {
    const value = this._settings?.composite[name];
    return (value ?? DEFAULTS[name]) as IMosaicSettings[Name];
  }

  /** Emitted when the user has changed a setting. */
  readonly changed = new Signal<this, void>(this);

  use(settings: ISettingRegistry.ISettings): void {
    this._settings = settings;
    settings.changed.connect(() => this.changed.emit());
    this.changed.emit();
  }

  private _settings: ISettingRegistry.ISettings | undefined;
}

export const settingsPlugin: JupyterFrontEndPlugin<ISettings> = {
  id: ID,
  description: 'Provides the settings of MOSAIC Lab.',
  autoStart: true,
  optional: [ISettingRegistry],
  provides: ISettings,
  activate: (_app: JupyterFrontEnd, registry: ISettingRegistry | null) => {
    const settings = new Settings();
    registry?.load(ID).then(
      loaded => settings.use(loaded),
      reason => console.warn('MOSAIC: the settings were not loaded, the defaults are used:', reason)
    );
    return settings;
  }
};
