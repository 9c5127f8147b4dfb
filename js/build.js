// Builds what runs in the page: the prebuilt JupyterLab extension into the first folder named on the command line, the
// code of the widgets, one ES module and one style sheet for each, into the second. With --watch it builds again
// whenever a source changes, readable and with source maps.
//
// Only the bundler is needed: types are stripped, not checked (`npm run check` does that), and everything of
// JupyterLab's, and React, is taken from the running JupyterLab through module federation, so none of it is in the
// extension's bundle; widgets bundle what they use, and Preact in React's place.

import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rspack } from '@rspack/core';

/** The widgets: the name under which Python loads each (`mosaic_lab/widgets/page/page_code.py`), and its module. */
const WIDGETS = {
  header: './src/widgets/panel/header-part.ts',
  controls: './src/widgets/panel/part.ts?controls',
  footer: './src/widgets/panel/part.ts?footer',
  collapsible: './src/widgets/panel/part.ts?collapsible',
  table: './src/widgets/panel/table.tsx',
  chart_pointer: './src/widgets/panel/chart-pointer.ts',
  film_strip: './src/widgets/panel/film-strip.tsx',
  plot_note: './src/widgets/panel/plot-note.ts',
  frame_wall: './src/widgets/frames/wall.ts',
  comparison: './src/widgets/comparison/comparison.tsx',
  replay: './src/widgets/replays/replay.tsx',
  run_table: './src/widgets/overview/run-table.tsx',
  transcript: './src/widgets/overview/transcript.tsx',
  workspace: './src/widgets/overview/workspace.tsx'
};

/**
 * The oldest browsers that both builds are for: the first with all that the style sheets use. For older ones the
 * minimizer would add `:-webkit-any(td, th)` to `:is(td, th)`, which overrides rules that the style sheet does not.
 */
const BROWSERS = ['chrome >= 117', 'firefox >= 121', 'safari >= 16.4'];

const here = import.meta.dirname;
const manifest = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));
const watch = process.argv.includes('--watch');
const folders = process.argv.slice(2).filter(word => word !== '--watch');
const [extensionFolder, widgetsFolder] = folders.map(folder => path.resolve(folder));

const shared = Object.fromEntries(
  Object.entries({ ...manifest.devDependencies, ...manifest.dependencies })
    .filter(([name]) => /^(@(jupyterlab|lumino|rjsf)\/|react(-dom)?$)/.test(name))
    .map(([name, range]) => [name, { import: false, singleton: true, requiredVersion: range }])
);

const common = {
  mode: watch ? 'development' : 'production',
  devtool: watch ? 'source-map' : false,
  context: here,
  target: `browserslist:${BROWSERS.join(', ')}`,
  module: {
    rules: [
      {
        test: /\.tsx?$/,
        loader: 'builtin:swc-loader',
        options: {
          jsc: {
            parser: { syntax: 'typescript', tsx: true },
            transform: { react: { runtime: 'automatic' } },
            target: 'es2022'
          }
        },
        type: 'javascript/auto'
      },
      {
        test: /\.css$/,
        loader: 'builtin:lightningcss-loader',
        options: { targets: BROWSERS },
        type: 'css/auto'
      }
    ]
  }
};

const extension = {
  ...common,
  entry: {},
  output: {
    path: path.join(extensionFolder, 'static'),
    filename: '[name].[contenthash:12].js',
    publicPath: 'auto',
    uniqueName: manifest.name,
    clean: true
  },
  plugins: [
    new rspack.container.ModuleFederationPluginV1({
      name: manifest.name,
      library: { type: 'var', name: ['_JUPYTERLAB', manifest.name] },
      filename: 'remoteEntry.[contenthash:12].js',
      exposes: { './extension': './src/extension/index.ts' },
      shared
    })
  ]
};

/** Every model of a widget sends its bundle to the page, so a tenth of React's size takes React's place. */
const REACT = {
  react$: 'preact/compat',
  'react-dom$': 'preact/compat',
  'react-dom/client$': 'preact/compat/client',
  'react/jsx-runtime$': 'preact/jsx-runtime'
};

const widgets = {
  ...common,
  resolve: { alias: REACT },
  entry: WIDGETS,
  output: {
    path: widgetsFolder,
    filename: '[name].js',
    cssFilename: '[name].css',
    library: { type: 'module' },
    module: true,
    clean: true
  }
};

/** Describes the extension to JupyterLab: the entry that it loads, and the schemas of the settings. */
function describe() {
  const built = readdirSync(path.join(extensionFolder, 'static'));
  const entry = built.find(name => /^remoteEntry\..*\.js$/.test(name));
  const { name, version, description, license } = manifest;
  const jupyterlab = { extension: true, _build: { load: `static/${entry}`, extension: './extension' } };
  const described = `${JSON.stringify({ name, version, description, license, jupyterlab }, null, 2)}\n`;
  writeFileSync(path.join(extensionFolder, 'package.json'), described);
  cpSync(path.join(here, 'install.json'), path.join(extensionFolder, 'install.json'));
  // Where JupyterLab's server looks for the schemas of settings, and beside them for the version that they are of.
  const schemas = path.join(extensionFolder, 'schemas', name);
  rmSync(schemas, { recursive: true, force: true });
  cpSync(path.join(here, 'schema'), schemas, { recursive: true });
  writeFileSync(path.join(schemas, 'package.json.orig'), described);
  console.log(`built ${name} ${version} into ${extensionFolder} and ${widgetsFolder}`);
}

function finish(error, stats) {
  if (error || stats.hasErrors()) {
    console.error(error ?? stats.toString({ all: false, errors: true }));
    process.exitCode = 1;
  } else {
    describe();
  }
}

const compiler = rspack([extension, widgets]);
if (watch) {
  compiler.watch({}, finish);
} else {
  compiler.run((error, stats) => {
    finish(error, stats);
    compiler.close(() => {});
  });
}
