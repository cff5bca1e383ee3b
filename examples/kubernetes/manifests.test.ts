import { readFileSync } from 'node:fs';
import path from 'node:path';
import { membershipFrom } from '@coll/strategy';
import { StatefulSet } from 'kubernetes-models/apps/v1';
import { type IJobSpec, Job } from 'kubernetes-models/batch/v1';
import { type IPodTemplateSpec, Pod, Secret, Service } from 'kubernetes-models/v1';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const textOf = (file: string) => readFileSync(path.join(import.meta.dirname, file), 'utf8');

const service = new Service(parse(textOf('service.yaml')));
const secret = new Secret(parse(textOf('secret.yaml')));
const job = new Job(parse(textOf('job.yaml')));
const statefulSet = new StatefulSet(parse(textOf('statefulset.yaml')));
const workloads = { job, statefulSet };

/** The pods of kinds that are not part of Kubernetes, so that their own schemas are not at hand. */
interface Operators {
  readonly jobSet: {
    readonly metadata: { readonly name: string };
    readonly spec: {
      readonly network: { readonly subdomain: string };
      readonly replicatedJobs: readonly [{ readonly name: string; readonly template: { readonly spec: IJobSpec } }];
    };
  };
  readonly mpiJob: {
    readonly spec: {
      readonly slotsPerWorker: number;
      readonly mpiReplicaSpecs: Readonly<
        Record<'Launcher' | 'Worker', { readonly replicas: number; readonly template: IPodTemplateSpec }>
      >;
    };
  };
}
const jobSet: Operators['jobSet'] = parse(textOf('jobset.yaml'));
const mpiJob: Operators['mpiJob'] = parse(textOf('mpijob.yaml'));
const [workers] = jobSet.spec.replicatedJobs;
const { Launcher, Worker } = mpiJob.spec.mpiReplicaSpecs;
const templates = {
  'the JobSet': workers.template.spec.template,
  'the launcher': Launcher.template,
  'a worker': Worker.template,
};

/** The value of a variable in a pod: `$(NAME)` stands for the variable `NAME` before it. */
function variableIn(workload: keyof typeof workloads, name: string, index: number): string {
  const variables = workloads[workload].spec?.template.spec?.containers[0]?.env ?? [];
  const own = variables.findIndex((variable) => variable.name === name);
  const isKnown = variables.slice(0, own).some((variable) => variable.name === 'INDEX');
  return (variables[own]?.value ?? '').replaceAll('$(INDEX)', isKnown ? String(index) : '$(INDEX)');
}

describe('the Kubernetes manifests', () => {
  it.each([service, secret, job, statefulSet])('match the schema of their kind: $kind', (manifest) => {
    expect(() => manifest.validate()).not.toThrow();
  });

  it('are rejected by the schema if a field has the wrong type', () => {
    const wrong = new Job(parse(textOf('job.yaml').replace('completions: 2', 'completions: two')));
    expect(() => wrong.validate()).toThrow(/completions/);
  });

  it('have a secret that is refused as a job key until it is replaced', () => {
    expect(Buffer.byteLength(secret.stringData?.['job-key'] ?? '')).toBeLessThan(16);
  });

  it.each(['job', 'statefulSet'] as const)('give each pod of the %s its rank and the size of the group', (workload) => {
    const members = [0, 1].map((index) => membershipFrom({ TF_CONFIG: variableIn(workload, 'TF_CONFIG', index) }));
    expect(members.map((member) => [member?.rank, member?.size])).toEqual([
      [0, 2],
      [1, 2],
    ]);
  });

  it.each(['job', 'statefulSet'] as const)(
    'list the addresses that the Service gives to the pods of the %s',
    (workload) => {
      const { metadata, spec } = workloads[workload];
      const pods = [0, 1].map(
        (index) => `${metadata?.name}-${index}.${service.metadata?.name}.default.svc.cluster.local`,
      );
      const [port] = service.spec?.ports ?? [];
      const { addresses } = membershipFrom({ TF_CONFIG: variableIn(workload, 'TF_CONFIG', 0) }) ?? {};
      expect(addresses).toEqual(pods.map((pod) => `${pod}:${port?.port}`));
      expect(spec?.template.metadata?.labels).toMatchObject(service.spec?.selector ?? {});
      expect(spec?.template.spec?.containers[0]?.ports).toEqual([{ containerPort: port?.port }]);
    },
  );

  it('start as many pods as TF_CONFIG lists', () => {
    const size = membershipFrom({ TF_CONFIG: variableIn('job', 'TF_CONFIG', 0) })?.size;
    expect([job.spec?.completions, job.spec?.parallelism, statefulSet.spec?.replicas]).toEqual([size, size, size]);
  });

  it('name the Service in the pods, which thereby get DNS names', () => {
    const name = service.metadata?.name;
    expect([job.spec?.template.spec?.subdomain, statefulSet.spec?.serviceName]).toEqual([name, name]);
  });
});

describe('the manifests for operators', () => {
  it.each(Object.entries(templates))('have a pod template that matches the schema of pods: %s', (_, template) => {
    expect(() => new Pod(template).validate()).not.toThrow();
  });

  it('have a pod template that the schema rejects if a field has the wrong type', () => {
    const wrong = parse(textOf('jobset.yaml').replace('containerPort: 29222', 'containerPort: many'));
    const [{ template }] = (wrong as Operators['jobSet']).spec.replicatedJobs;
    expect(() => new Pod(template.spec.template).validate()).toThrow(/containerPort/);
  });

  it('have a JobSet whose job matches the schema of jobs', () => {
    expect(() => new Job({ metadata: { name: 'workers' }, ...workers.template }).validate()).not.toThrow();
  });

  it('give each pod of the JobSet its rank, the size, and the address of pod 0', () => {
    const { completions, template } = workers.template.spec;
    const variables = template.spec?.containers[0]?.env ?? [];
    const fixed = Object.fromEntries(variables.flatMap(({ name, value }) => (value ? [[name, value]] : [])));
    expect(fixed).toEqual({ COLL_SIZE: `${completions}`, COLL_SERVICE: jobSet.spec.network.subdomain });
    const members = [0, 1].map((index) => {
      const HOSTNAME = `${jobSet.metadata.name}-${workers.name}-0-${index}`;
      return membershipFrom({ ...fixed, JOB_COMPLETION_INDEX: `${index}`, HOSTNAME });
    });
    expect(members).toMatchObject([
      { rank: 0, size: 2 },
      { rank: 1, size: 2, coordinator: 'train-workers-0-0.train' },
    ]);
  });

  it('start as many ranks with mpirun as the workers have slots', () => {
    const command = Launcher.template.spec?.containers[0]?.command ?? [];
    expect(Number(command[command.indexOf('-n') + 1])).toBe(mpiJob.spec.slotsPerWorker * Worker.replicas);
  });
});
