import { settingsOrExit } from '../../examples/train/options.mjs';
import { becomeProgram, prepareStart } from './phases.mjs';
import { announce } from './progress.mjs';

const args = process.argv.slice(2);
settingsOrExit(args);
await prepareStart();
announce('train', 'the training example', 25);
await becomeProgram('examples/train/main.ts', args, ['@coll/source']);
