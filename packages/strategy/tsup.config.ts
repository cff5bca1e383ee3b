import { rm, writeFile } from 'node:fs/promises';
import type { Options } from 'tsup';
import { libConfig } from '../../tools/tsup/lib-config.ts';

// Entries share chunks: that of threads needs sources which no other entry exports.
const [forNode, modules] = libConfig({
  entry: ['src/index.ts', 'src/internal.ts', 'src/internal-node.ts', 'src/replica-thread.ts'],
  esbuildPlugins: [],
}) as readonly [Options, Options];

// What is not for Node.js is for pages, which have another host.
const hostOfPages: Options = {
  ...modules,
  async onSuccess() {
    await writeFile('dist/modules/host.js', "export * from './page/host.js';\n");
    await rm('dist/modules/host.js.map');
  },
};

export default [forNode, hostOfPages];
