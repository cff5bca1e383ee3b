import { libConfig } from '../../tools/tsup/lib-config.ts';

export default libConfig({ entry: ['src/index.ts', 'src/node/index.ts', 'src/page/index.ts'] });
