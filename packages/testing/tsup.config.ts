import { libConfig } from '../../tools/tsup/lib-config.ts';

export default libConfig({
  entry: ['src/index.ts', 'src/rank-thread.ts', 'src/rank-process.ts', 'src/tree-algorithm.ts'],
});
