import { becomeProgram } from './phases.mjs';

const args = process.argv.slice(2);
const folder = args.includes('--trace')
  ? 'packages/cli/test/traced-faults'
  : `packages/processes/test/${args.includes('--altered') ? 'altered' : 'faults'}`;
await becomeProgram(`${folder}/main.ts`, args, ['@coll/source']);
