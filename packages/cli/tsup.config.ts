import { libConfig } from '../../tools/tsup/lib-config.ts';

export default libConfig({ entry: ['src/main.ts', 'src/project-answers.ts', 'src/try-run.ts', 'src/watchdog.ts'] });
