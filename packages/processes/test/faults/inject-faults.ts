import { TcpStoreServer } from '@coll/rendezvous';
import { freePort } from '../../../rendezvous/test/free-port.ts';
import { RankPool } from './rank-pool.ts';
import { runScenario } from './run-scenario.ts';
import { isSilent, type Scenario, scenarioOf } from './scenario.ts';
import { type Verdict, verdictOf } from './verdict.ts';

/** What one seed has shown. */
export interface Finding extends Verdict {
  readonly scenario: Scenario;
}

/**
 * Runs the scenarios of some seeds one after the other, with the same processes as far as they live. Where a member falls silent,
 * the others wait for it so long.
 */
export async function* injectFaults(seeds: Iterable<number>, heartbeatSeconds = 1.5): AsyncGenerator<Finding> {
  const member = { job: 'faults', jobKey: TcpStoreServer.newKey() };
  await using server = await TcpStoreServer.listen(member);
  await using pool = new RankPool();
  const store = { ...member, address: server.address };
  let generation = 0;
  for (const seed of seeds) {
    const drawn = scenarioOf(seed);
    const scenario = isSilent(drawn.fault) ? { ...drawn, heartbeatSeconds } : drawn;
    // Whatever is loaded when it is first needed is there before anything is counted.
    if (generation === 0) await runScenario(pool, { ...scenarioOf(0), size: 5 }, generation++, store);
    const address = scenario.fault === 'keeper' ? `tcp://127.0.0.1:${await freePort()}` : store.address;
    const run = await runScenario(pool, scenario, generation++, { ...store, address });
    yield { scenario, ...verdictOf(scenario, run) };
  }
}
