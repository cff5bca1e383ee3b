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
  const parts = [weightData ?? []].flat().map((part) => new Uint8Array(part));
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  const json = { ...others, weightsManifest: [{ paths: [weights], weights: weightSpecs }] } satisfies ModelJson;
  return new Map([
    [weights, bytes],
    [topology, new TextEncoder().encode(JSON.stringify(json))],
  ]);
}

/** The descriptions of the weights in `model.json`; anything else if it is not such a file. */
export function weightSpecsIn(bytes: Uint8Array): unknown {
  const { weightsManifest } = Object(JSON.parse(new TextDecoder().decode(bytes))) as Partial<ModelJson>;
  const groups = Array.isArray(weightsManifest) ? weightsManifest : [];
  return groups.flatMap((group) => Object(group).weights);
}
