import { libConfig } from '../../tools/tsup/lib-config.ts';

// Entries share chunks: that of threads needs sources which no other entry exports.
export default libConfig({
  entry: ['src/index.ts', 'src/internal.ts', 'src/internal-node.ts', 'src/replica-thread.ts'],
  esbuildPlugins: [],
});
