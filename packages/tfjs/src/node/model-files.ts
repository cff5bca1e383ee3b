import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { quote } from '@coll/core/internal';
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
  const bytes = Buffer.concat([weightData ?? []].flat().map((part) => new Uint8Array(part)));
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

/** Reads a model in a folder, whose weights may be in any number of files. */
export async function artifactsFrom(folder: string, topology: Uint8Array): Promise<TfModelArtifacts> {
  const json = parsed(topology);
  const groups = groupsIn(json);
  const { weightsManifest: _, ...others } = json;
  const files: Uint8Array[] = [];
  for (const file of groups.flatMap(({ paths }) => paths)) {
    // A model cannot make the program read other files.
    if (path.basename(file) !== file) throw new Error(`its weights are in ${quote(file)}, which is in another folder`);
    files.push(await readFile(path.join(folder, file)));
  }
  const { buffer } = new Uint8Array(Buffer.concat(files));
  return { ...others, weightSpecs: groups.flatMap(({ weights }) => weights), weightData: buffer };
}

function parsed(bytes: Uint8Array): Partial<ModelJson> {
  return Object(JSON.parse(new TextDecoder().decode(bytes)));
}

function groupsIn({ weightsManifest }: Partial<ModelJson>): ModelJson['weightsManifest'] {
  const areGroups =
    Array.isArray(weightsManifest) &&
    weightsManifest.every((group) => Array.isArray(Object(group).weights) && areTexts(Object(group).paths));
  if (!areGroups) throw new Error('model.json does not list its weights');
  return weightsManifest;
}

function areTexts(list: unknown): boolean {
  return Array.isArray(list) && list.every((item) => typeof item === 'string');
}
