export { ReferenceCommunicator, type ReferenceCommunicatorOptions } from '@coll/core/internal';
export { type AlgorithmSuiteOptions, algorithmSuite, type DeclareGroup } from './algorithm-suite.js';
export { controllerGroup, type MakeCommunicator } from './controller-group.js';
export { crossDeviceOpsSuite, type OpsSuiteOptions, type PluginSuiteOptions } from './cross-device-ops-suite.js';
export type { DeclareTest } from './declare-test.js';
export { type ExecutorSuiteOptions, executorSuite } from './executor-suite.js';
export {
  type Call,
  type CallOptions,
  type GroupMember,
  type GroupMembers,
  type OpenGroup,
  type Outcome,
  TestGroup,
} from './group.js';
export { type LaunchedRanksOptions, type LauncherProcess, launchedRanks } from './launched-ranks.js';
export type { Join, Joined, MemberInfo } from './member-info.js';
export { type MemberScenario, type MemberScenarioName, memberScenarios } from './member-scenarios.js';
export { type MemberSuiteOptions, memberSuite } from './member-suite.js';
export type { CreateOps } from './ops/ops-subject.js';
export { type ProcessRanks, type ProcessRanksOptions, processRanks } from './process-ranks.js';
export type { ModuleExport, SuiteAlgorithm } from './suite-algorithm.js';
export { type ThreadRanks, type ThreadRanksOptions, threadRanks } from './thread-ranks.js';
