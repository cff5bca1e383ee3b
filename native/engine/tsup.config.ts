import { libConfig } from '../../tools/tsup/lib-config.ts';

export default libConfig({
  entry: ['src/index.ts', 'src/register.ts', 'src/addon.ts', 'src/machine/index.ts', 'src/record/index.ts'],
});
