import { joined } from '@coll/strategy/internal';
import type { TfLayersModel, TfModelArtifacts, TfWeightSpec } from '../tensorflow.js';

/** The files of a model by name. */
export type ModelFiles = ReadonlyMap<string, Uint8Array>;

/** The names of a model's files: its topology, and its weights. */
export const modelFiles = ['model.json', 'weights.bin'] as const;

/** The contents of `model.json`. */
export interface ModelJson {
  readonly weightsManifest: readonly { readonly paths: readonly string[]; readonly weights: TfWeightSpec[] }[];
}

/** The files in which TensorFlow.js saves a model. */
export async function filesOfModel(model: TfLayersModel): Promise<ModelFiles> {
  let files: ModelFiles | undefined;
  const modelArtifactsInfo = { dateSaved: new Date(), modelTopologyType: 'JSON' } as const;
  await model.save({
    save: async (artifacts) => {
      files = filesOfArtifacts(artifacts);
      return { modelArtifactsInfo };
    },
  });
  return files as ModelFiles;
}

/** The files of artifacts. The weights come first, so that a topology never lacks its weights. */
export function filesOfArtifacts({ weightSpecs = [], weightData, ...others }: TfModelArtifacts): ModelFiles {
  const [topology, weights] = modelFiles;
  const bytes = joined([weightData ?? []].flat().map((part) => new Uint8Array(part)));
  const json = { ...others, weightsManifest: [{ paths: [weights], weights: weightSpecs }] } satisfies ModelJson;
  return new Map([
    [weights, bytes],
    [topology, new TextEncoder().encode(JSON.stringify(json))],
  ]);
}

/** The descriptions of the weights in `model.json`. */
export function weightSpecsIn(bytes: Uint8Array): unknown {
  return groupsIn(parsed(bytes)).flatMap(({ weights }) => weights);
}

/** The contents of `model.json`, which may be anything. */
export function parsed(bytes: Uint8Array): Partial<ModelJson> {
  return Object(JSON.parse(new TextDecoder().decode(bytes)));
}

/** @throws Error unless `model.json` lists its weights */
export function groupsIn({ weightsManifest }: Partial<ModelJson>): ModelJson['weightsManifest'] {
  const areGroups =
    Array.isArray(weightsManifest) &&
    weightsManifest.every((group) => Array.isArray(Object(group).weights) && areTexts(Object(group).paths));
  if (!areGroups) throw new Error('model.json does not list its weights');
  return weightsManifest;
}

function areTexts(list: unknown): boolean {
  return Array.isArray(list) && list.every((item) => typeof item === 'string');
}
