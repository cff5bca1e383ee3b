import { test } from 'node:test';
import { algorithmSuite, crossDeviceOpsSuite } from '@coll/testing';
import { tree, treeAlgorithm } from './tree.js';

algorithmSuite({ test, algorithm: treeAlgorithm });
crossDeviceOpsSuite({ test, plugin: tree });
