import { settingsOrExit } from '../../examples/train/options.mjs';
import { becomeProgram, prepareStart } from './phases.mjs';

const args = process.argv.slice(2);
settingsOrExit(args);
await prepareStart();
await becomeProgram('examples/train/main.ts', args, ['@coll/source']);
