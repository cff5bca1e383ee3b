import { environment } from './environment.js';
import { logFirst } from './logger.js';

/**
 * Logs one warning per thread if `carrier`, a library that cannot encrypt, carries the data of
 * members on several hosts; nothing with `COLL_INSECURE=1`. To be called by one member.
 * @param hosts the host of each member
 */
export function warnOfOpenTraffic(carrier: string, hosts: readonly string[]): void {
  const names = [...new Set(hosts)];
  if (names.length < 2 || /^(1|true)$/.test(environment('COLL_INSECURE') ?? '')) return;
  const shown = names.length > 4 ? [...names.slice(0, 3), '…'] : names;
  const message = `${carrier} sends the values of collectives between ${names.length} hosts (${shown.join(', ')}) neither encrypted nor signed, because ${carrier} cannot encrypt`;
  const advice = 'use a network that only the hosts of the job can reach, or one with WireGuard or IPsec';
  logFirst(1, `open traffic of ${carrier}`, 'warn', `${message}: ${advice}`);
}
