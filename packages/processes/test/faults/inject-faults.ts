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

/** What all scenarios have in common. */
export interface InjectOptions {
  /** For how long the others wait for a member that falls silent. Default: 1.5. */
  readonly heartbeatSeconds?: number;
  /** Default: as the seed draws it. */
  readonly encrypt?: Scenario['encrypt'] | undefined;
}

/**
 * Runs the scenarios of some seeds one after the other, with the same processes as far as they live.
 */
export async function* injectFaults(
  seeds: Iterable<number>,
  { heartbeatSeconds = 1.5, encrypt }: InjectOptions = {},
): AsyncGenerator<Finding> {
  const member = { job: 'faults', jobKey: TcpStoreServer.newKey() };
  await using server = await TcpStoreServer.listen(member);
  await using pool = new RankPool();
  const store = { ...member, address: server.address };
  let generation = 0;
  for (const seed of seeds) {
    const drawn = { ...scenarioOf(seed), ...(encrypt && { encrypt }) };
    const scenario = isSilent(drawn.fault) ? { ...drawn, heartbeatSeconds } : drawn;
    // Whatever is loaded when it is first needed is there before anything is counted.
    if (generation === 0) await runScenario(pool, { ...scenarioOf(0), size: 5 }, generation++, store);
    const address = scenario.fault === 'keeper' ? `tcp://127.0.0.1:${await freePort()}` : store.address;
    const run = await runScenario(pool, scenario, generation++, { ...store, address });
    yield { scenario, ...verdictOf(scenario, run) };
  }
}
