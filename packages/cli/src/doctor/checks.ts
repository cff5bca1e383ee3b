import { addressCheck } from './address.js';
import { encryptionCheck } from './encryption.js';
import { engineCheck } from './engine.js';
import { mpiCheck, ncclCheck } from './libraries.js';
import { limitsCheck } from './limits.js';
import type { Check } from './line.js';
import { machineCheck, systemCheck } from './machine.js';
import { nativeLimitsCheck } from './native-limits.js';
import { packagesCheck } from './packages.js';
import { recordsCheck } from './records.js';
import { tlsCheck } from './tls.js';

/** All checks, in the order of their lines. */
export const checks: readonly Check[] = [
  systemCheck,
  machineCheck,
  packagesCheck,
  engineCheck,
  nativeLimitsCheck,
  limitsCheck,
  addressCheck,
  tlsCheck,
  encryptionCheck,
  recordsCheck,
  mpiCheck,
  ncclCheck,
];
