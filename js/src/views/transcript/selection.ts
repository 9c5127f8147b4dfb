import type { Selection } from '../../shared/run-api.ts';

export const EVERYTHING: Selection = {
  operator: null,
  seed: null,
  fault: null,
  prompt: [null, null],
  answer: [null, null],
  text: ''
};
