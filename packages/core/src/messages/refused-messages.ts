import { refusedError } from '../collectives/call-errors.js';
import type { Group } from '../runtime/communicator.js';

/**
 * The methods of `Group` for sub-groups and messages, for engines that support neither. Each call
 * throws a ValueError (ERR_COLL_REFUSED) that names `engine`.
 */
export function refusedMessages(engine: string): Pick<Group, 'split' | 'send' | 'receive'> {
  const refuse = async (operation: string, what: string): Promise<never> => {
    throw refusedError(`${engine} has no ${what}`, { operation });
  };
  return {
    split: () => refuse('split', 'sub-groups'),
    send: () => refuse('send', 'messages between two ranks'),
    receive: () => refuse('receive', 'messages between two ranks'),
  };
}
