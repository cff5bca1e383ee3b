import { logFirst } from '@coll/core/plugin';
import { type TensorFlow, type TfOptimizer, type TfVariable, trainableVariables } from './tensorflow.js';

type Minimize = (this: object, f: unknown, returnCost?: boolean, variables?: TfVariable[]) => unknown;

const distributed = new WeakSet<object>();
const trained = new WeakSet<TfVariable>();
const watched = new WeakSet<object>();

/** Records the variables that a distributed optimizer trains. */
export function noteTrained(variables: readonly TfVariable[]): void {
  for (const variable of variables) trained.add(variable);
}

/**
 * Warns once if an optimizer that is not distributed trains variables that a distributed optimizer
 * has trained. After `model.compile` with a plain optimizer, `fit` no longer calls the distributed
 * optimizer, so this function patches `minimize` of all optimizers of this TensorFlow.js to check
 * the variables.
 */
export function watchPlainOptimizers(tf: TensorFlow, plain: TfOptimizer, ours: TfOptimizer, replica: number): void {
  distributed.add(ours);
  const owner = ownerOfMinimize(plain);
  if (!owner || watched.has(owner)) return;
  watched.add(owner);
  const { minimize } = owner;
  owner.minimize = function (f, returnCost, variables) {
    if (!distributed.has(this) && (variables ?? trainableVariables(tf)).some((variable) => trained.has(variable))) {
      const told = `replica ${replica}: a plain optimizer now trains a model that distributedOptimizer trained before, so the replicas diverge from now on`;
      const cure = 'compile the model with distributedOptimizer(tf, optimizer, replica) again';
      logFirst(1, 'plain optimizer after a distributed one', 'warn', `${told}; ${cure}`);
    }
    return minimize.call(this, f, returnCost, variables);
  };
}

/** The object in an optimizer's prototype chain that defines `minimize`. */
function ownerOfMinimize(optimizer: object): { minimize: Minimize } | undefined {
  for (let owner: object | null = optimizer; owner; owner = Object.getPrototypeOf(owner) as object | null) {
    if (Object.hasOwn(owner, 'minimize')) return owner as { minimize: Minimize };
  }
  return undefined;
}
