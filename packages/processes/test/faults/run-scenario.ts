import type { ChildProcess } from 'node:child_process';
import { type Exit, type FromRank, nowMillis, type Report, type Task } from './messages.ts';
import { NetworkDouble } from './network-double.ts';
import { kill, type RankPool } from './rank-pool.ts';
import { isFromOutside, type Scenario } from './scenario.ts';

/** What became of a rank: its report, or its end; `hung` where neither came. */
export type Outcome = Report | 'ended' | 'hung';

/** The outcomes of a scenario. */
export interface ScenarioRun {
  readonly outcomes: readonly Outcome[];
  /** When the program did what goes wrong, if it did. */
  readonly faultAtMillis: number | undefined;
}

// More than the longest wait of a rank.
const limitMillis = 90_000;

/** Runs a scenario with the processes of a pool, as a group of a generation of its own. */
export async function runScenario(
  pool: RankPool,
  scenario: Scenario,
  generation: number,
  store: Task['store'],
): Promise<ScenarioRun> {
  const network = new NetworkDouble();
  const children = await pool.take(scenario.size);
  let begun = 0;
  let faultAtMillis: number | undefined;
  const onBegun = () => {
    if (++begun < scenario.size || !isFromOutside(scenario.fault)) return;
    setTimeout(() => {
      faultAtMillis = nowMillis();
      strike(scenario, children, network);
    }, scenario.afterMillis);
  };
  const onExit = ({ atMillis }: Exit) => {
    faultAtMillis = atMillis;
  };
  const outcomes = children.map((child, rank) => {
    const outcome = outcomeOf(child, { onBegun, onExit, onRoute: (to, port) => network.route(rank, to, port) });
    child.send({ type: 'task', scenario, rank, generation, store } satisfies Task);
    return outcome;
  });
  // Who was stopped goes on when all others are through.
  if (scenario.fault === 'stop') {
    const others = outcomes.filter((_, rank) => rank !== scenario.victim);
    void Promise.all(others).then(() => children[scenario.victim]?.kill('SIGCONT'));
  }
  const all = await Promise.all(outcomes);
  network.close();
  await Promise.all(children.filter((_, rank) => all[rank] === 'hung').map(kill));
  return { outcomes: all, faultAtMillis };
}

function strike({ fault, victim, other }: Scenario, children: readonly ChildProcess[], network: NetworkDouble): void {
  if (fault === 'kill' || fault === 'kill two') children[victim]?.kill('SIGKILL');
  if (fault === 'kill two') children[other]?.kill('SIGKILL');
  if (fault === 'stop') children[victim]?.kill('SIGSTOP');
  if (fault === 'cut') network.cut(victim);
  if (fault === 'cut one') network.cut(victim, other);
  if (fault === 'silence') network.silence(victim);
}

interface Handlers {
  onBegun(): void;
  onExit(exit: Exit): void;
  onRoute(to: number, port: number): Promise<number>;
}

function outcomeOf(child: ChildProcess, { onBegun, onExit, onRoute }: Handlers): Promise<Outcome> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle('hung'), limitMillis);
    const settle = (outcome: Outcome) => {
      clearTimeout(timer);
      child.off('message', take).off('exit', end);
      resolve(outcome);
    };
    const end = () => settle('ended');
    const take = (message: FromRank) => {
      if (message.type === 'begun') onBegun();
      else if (message.type === 'exit') onExit(message);
      else if (message.type === 'report') settle(message);
      else if (message.type === 'route') {
        const { to, port } = message;
        void onRoute(to, port).then((near) => child.send({ type: 'route', to, port: near }));
      }
    };
    child.on('message', take).once('exit', end);
  });
}
