import { prepare } from './phases.mjs';

await prepare();
