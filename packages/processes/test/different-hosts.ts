import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

const { hostname } = os;
let hosts = 0;

/**
 * From now on each member of a group in this process is on a host of its own.
 * @param prefix what the names of these hosts begin with
 */
export function distinguishHosts(prefix = 'host'): void {
  os.hostname = () => `${prefix}-${hosts++}`;
  syncBuiltinESMExports();
}

/** All members are on the host of this process again. */
export function restoreHost(): void {
  os.hostname = hostname;
  syncBuiltinESMExports();
}
