import { quote } from '../support/quote.js';
import { deviceType } from '../values/device.js';
import type { Plugin, Situation } from './plugin.js';

/** A plug-in that was considered, and why it was or was not chosen. */
export interface Candidate {
  readonly name: string;
  readonly priority: number;
  /**
   * The reason why the plug-in cannot serve here; undefined for the chosen plug-in and for those
   * not probed.
   */
  readonly refused?: string;
  /**
   * The reason why the plug-in was or was not chosen; completes a sentence that begins with the
   * plug-in's name.
   */
  readonly reason: string;
}

export interface PluginChoice {
  readonly taken: Plugin<never> | undefined;
  readonly candidates: readonly Candidate[];
}

/**
 * Chooses the first plug-in of a list that can serve; later ones are not probed. The list is in
 * order of preference.
 */
export async function chooseFirst(plugins: readonly Plugin<never>[], situation: Situation): Promise<PluginChoice> {
  const candidates: Candidate[] = [];
  let taken: Plugin<never> | undefined;
  for (const plugin of plugins) {
    if (taken) {
      candidates.push(candidate(plugin, `not asked, because ${precedence(taken, plugin)}, supports these devices`));
      continue;
    }
    const refused = await refusalOf(plugin, situation);
    if (refused === undefined) taken = plugin;
    const reason = 'chosen, because it has the highest priority of the plug-ins that support these devices';
    candidates.push(candidate(plugin, reason, refused));
  }
  return { taken, candidates };
}

/** Chooses the requested plug-in, unless the plug-in refuses the situation. */
export async function chooseNamed(plugin: Plugin<never>, situation: Situation): Promise<PluginChoice> {
  const refused = await refusalOf(plugin, situation);
  const taken = refused === undefined ? plugin : undefined;
  return { taken, candidates: [candidate(plugin, 'chosen, because it was requested', refused)] };
}

function candidate({ name, priority }: Plugin<never>, reason: string, refused?: string): Candidate {
  return refused === undefined
    ? { name, priority, reason }
    : { name, priority, refused, reason: `refused, because ${refused}` };
}

function precedence(taken: Plugin<never>, other: Plugin<never>): string {
  return taken.priority > other.priority
    ? `${taken.name}, of a higher priority`
    : `${taken.name}, of the same priority and first by name`;
}

async function refusalOf({ capabilities, probe }: Plugin<never>, situation: Situation): Promise<string | undefined> {
  const { devices, dtypes, ops, maxRanks = Number.POSITIVE_INFINITY } = capabilities ?? {};
  const device = situation.devices.find((name) => devices && !devices.includes(deviceType(name)));
  if (device !== undefined) return `it supports ${devices?.join(', ')} devices, not ${device}`;
  const dtype = situation.dtypes?.find((name) => dtypes && !dtypes.includes(name));
  if (dtype) return `it does not support ${dtype}`;
  const op = situation.ops?.find((name) => ops && !ops.includes(name));
  if (op) return `it does not support ${op}`;
  if (situation.devices.length > maxRanks)
    return `it supports up to ${maxRanks} ranks, not ${situation.devices.length}`;
  try {
    const result = await probe?.(situation);
    return result && !result.available ? result.reason : undefined;
  } catch (error) {
    // A plug-in whose probe throws is unusable; the others remain.
    return `its probe failed: ${error instanceof Error ? error.message : quote(error)}`;
  }
}
