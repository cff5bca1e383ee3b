import fc from 'fast-check';

// Properties that state no number of runs go on for this time. `npm run fuzz` sets it.
const millis = Number(process.env['COLL_PROPERTY_MILLIS']);
if (millis > 0) fc.configureGlobal({ numRuns: 1_000_000_000, interruptAfterTimeLimit: millis });
