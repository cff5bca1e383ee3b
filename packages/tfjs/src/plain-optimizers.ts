import { leaveRunNote, silenceRunNote } from '@coll/core/internal';
import { logFirst } from '@coll/core/plugin';
import { getReplicaContext } from '@coll/strategy';
import { OptimizerSettings } from './optimizer-state.js';
import { formsOf } from './same-variables.js';
import { type TensorFlow, type TfOptimizer, type TfVariable, trainableVariables } from './tensorflow.js';

interface Minimizer {
  minimize(this: TfOptimizer, f: unknown, returnCost?: boolean, variables?: TfVariable[]): unknown;
}

const distributed = new WeakSet<object>();
const trained = new WeakSet<TfVariable>();
const watched = new WeakSet<object>();

/** Records the variables that a distributed optimizer trains. */
export function noteTrained(variables: readonly TfVariable[]): void {
  for (const variable of variables) trained.add(variable);
}

/** Records that a replica averages gradients. Returns whether it is the first time in this run. */
export function noteDistributedStep(replica: object): boolean {
  return silenceRunNote(replica);
}

/** Records an optimizer that is distributed. */
export function noteDistributed(optimizer: object): void {
  distributed.add(optimizer);
}

/**
 * Warns about optimizers of this TensorFlow.js that are not distributed: once if one of them trains
 * variables that a distributed optimizer has trained, and at the end of a run in which none but them
 * has stepped on several replicas. `model.fit` calls nothing of this package then, so this function
 * patches `minimize` of all optimizers.
 * @param optimizer one of the optimizers. Default: the base class of `tf`
 */
export function watchPlainOptimizers(tf: TensorFlow, optimizer: object | undefined = tf.Optimizer?.prototype): void {
  const owner = optimizer && ownerOfMinimize(optimizer);
  if (!owner || watched.has(owner)) return;
  watched.add(owner);
  const { minimize } = owner;
  owner.minimize = function (f, returnCost, variables) {
    if (!distributed.has(this)) notePlainStep(this, variables ?? trainableVariables(tf));
    return minimize.call(this, f, returnCost, variables);
  };
}

function notePlainStep(optimizer: TfOptimizer, variables: readonly TfVariable[]): void {
  const replica = getReplicaContext();
  const advice = 'compile the model with distributedOptimizer(tf, optimizer, replica)';
  if (variables.some((variable) => trained.has(variable))) {
    const who = replica ? `replica ${replica.replicaIdInSyncGroup}: ` : '';
    const message = `${who}a plain optimizer now trains a model that distributedOptimizer trained before, so the replicas diverge from now on`;
    logFirst(1, 'plain optimizer after a distributed one', 'warn', `${message}; ${advice} again`);
    if (replica) silenceRunNote(replica);
  }
  if (!replica || replica.numReplicasInSync === 1) return;
  leaveRunNote(replica, () => ({
    about: `${new OptimizerSettings(optimizer).text} ${formsOf(variables)}`,
    line: `optimizers stepped on several replicas in this run, but gradients were not averaged, so each replica has trained a model of its own; if they should train one model, ${advice}, also after loading it`,
  }));
}

/** The object in an optimizer's prototype chain that defines `minimize`. */
function ownerOfMinimize(optimizer: object): Minimizer | undefined {
  for (let owner: object | null = optimizer; owner; owner = Object.getPrototypeOf(owner) as object | null) {
    if (Object.hasOwn(owner, 'minimize')) return owner as Minimizer;
  }
  return undefined;
}
