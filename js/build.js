// Builds the prebuilt JupyterLab extension into the folder named on the command line.
//
// Only the bundler is needed: types are stripped, not checked (`npm run check` does that), and everything of
// JupyterLab's is taken from the running JupyterLab through module federation, so none of it is installed here.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rspack } from '@rspack/core';

const here = import.meta.dirname;
const manifest = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));
const output = path.resolve(process.argv[2]);

const shared = Object.fromEntries(
  Object.entries(manifest.devDependencies)
    .filter(([name]) => /^@(jupyterlab|lumino)\//.test(name))
    .map(([name, range]) => [name, { import: false, singleton: true, requiredVersion: range }])
);

const compiler = rspack({
  mode: 'production',
  context: here,
  entry: {},
  target: ['web', 'es2022'],
  resolve: { extensions: ['.ts', '.js'] },
  module: {
    rules: [
      {
        test: /\.ts$/,
        loader: 'builtin:swc-loader',
        options: { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } },
        type: 'javascript/auto'
      }
    ]
  },
  output: {
    path: path.join(output, 'static'),
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
      exposes: { './extension': './src/index.ts' },
      shared
    })
  ]
});

compiler.run((error, stats) => {
  if (error || stats.hasErrors()) {
    console.error(error ?? stats.toString({ all: false, errors: true }));
    process.exit(1);
  }
  const { assets } = stats.toJson({ all: false, assets: true });
  const entry = assets.find(asset => asset.name.startsWith('remoteEntry.')).name;
  const { name, version, description, license } = manifest;
  const jupyterlab = { extension: true, _build: { load: `static/${entry}`, extension: './extension' } };
  writeFileSync(
    path.join(output, 'package.json'),
    `${JSON.stringify({ name, version, description, license, jupyterlab }, null, 2)}\n`
  );
  compiler.close(() => console.log(`built ${name} ${version} into ${output}`));
});
