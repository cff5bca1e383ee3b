import { rename, writeFile } from 'node:fs/promises';
import type { Options } from 'tsup';
import { libConfig } from '../../tools/tsup/lib-config.ts';

// Entries share chunks: that of threads needs sources which no other entry exports.
const [forNode, modules] = libConfig({
  entry: ['src/index.ts', 'src/internal.ts', 'src/internal-node.ts', 'src/replica-thread.ts'],
  esbuildPlugins: [],
}) as readonly [Options, Options];

// Bundles of pages take another host: see `imports` in package.json.
const withHosts: Options = {
  ...modules,
  async onSuccess() {
    await rename('dist/modules/host.js', 'dist/modules/host-of-node.js');
    await writeFile('dist/modules/host.js', "export * from '#host';\n");
  },
};

export default [forNode, withHosts];
