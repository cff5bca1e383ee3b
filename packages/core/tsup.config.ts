import { libConfig } from '../../tools/tsup/lib-config.ts';

export default libConfig({
  entry: ['src/index.ts', 'src/plugin.ts', 'src/schedule/index.ts', 'src/internal.ts'],
  platform: 'neutral',
  external: [/^node:/],
});
