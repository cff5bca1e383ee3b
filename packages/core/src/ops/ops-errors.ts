import { NotImplementedError, RuntimeError } from '../support/errors.js';

/** The error of a call of ops that are closed. */
export function closedOps(name: string, operation: string): RuntimeError {
  const message = `${operation}: these ${name} ops were closed; create new ops`;
  return new RuntimeError('ERR_COLL_CLOSED', message, { operation });
}

/** The error of a replica's call of ops that were made for no replicas. */
export function opsWithoutWorld(name: string, operation: string): NotImplementedError {
  const message = `${name} cannot ${operation} inside a replica, because it was created without a world; let a strategy create it, or pass a world to its constructor`;
  return new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation });
}
