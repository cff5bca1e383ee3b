import { carryOut } from './carry-out.js';
import { steps } from './steps.js';

await carryOut(steps, process.argv.slice(2));
