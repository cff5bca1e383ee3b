// Actors and a learner. All replicas play. Replica 0 first learns from the latest games of all, while the others already play.
import type { ReplicaContext } from '@coll/strategy';
import { type Games, learn, play } from './games.ts';
import { weightCount } from './network.ts';

/** Milliseconds from one exchange of games and weights to the next. */
const round = 50;

// The threads, and these variables in each of them, stay from run to run.
const weights = new Float32Array(weightCount);
let latest: Games | undefined;

/** What replicas do, with seconds. An exchange includes the wait for the other replicas. */
export interface Times {
  learning: number;
  playing: number;
  gatheringGames: number;
  sendingWeights: number;
}

export interface Lesson {
  readonly replica: number;
  readonly games: number;
  /** Mean points of a game. */
  readonly score: number;
  readonly times: Times;
}

/** All replicas together play this many games, or a few more. */
export function replica(context: ReplicaContext, leastGames: number): Lesson {
  const { replicaIdInSyncGroup: id } = context;
  const times = { learning: 0, playing: 0, gatheringGames: 0, sendingWeights: 0 };
  const timed = <Result>(what: keyof Times, call: () => Result): Result => {
    const start = performance.now();
    const result = call();
    times[what] += (performance.now() - start) / 1000;
    return result;
  };
  let games = 0;
  let score = 0;
  // #region loop
  while (games < leastGames) {
    const end = performance.now() + round;
    if (id === 0) timed('learning', () => latest && learn(weights, latest));
    const { boards, points, lengths } = timed('playing', () => play(weights, end));
    // The arrays have other lengths on each replica. The results have the types of the arrays.
    const all = timed('gatheringGames', () => context.allGatherSync({ boards, points, lengths }, 0));
    latest = { boards: all.boards.data, points: all.points.data, lengths: all.lengths.data };
    timed('sendingWeights', () => context.broadcastSync(weights, 0, { into: weights }));
    games += latest.lengths.length;
    score += latest.points.reduce((sum, each) => sum + each, 0);
  }
  // #endregion
  return { replica: id, games, score: score / games, times };
}
