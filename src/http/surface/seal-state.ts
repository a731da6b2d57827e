/** `GET /v1/seal`: whether the service is sealed, and how many shares are missing. It does not say which were given. */
/** The state of the seal, as it is shown to anyone. */
export interface SealState {
  readonly sealed: boolean;
  readonly slots: readonly {
    readonly id: string;
    readonly provider: string;
    readonly shares: number;
    readonly threshold: number;
  }[];
  readonly progress: { readonly given: number; readonly needed: number };
}

export const notSealed: SealState = { sealed: false, slots: [], progress: { given: 0, needed: 0 } };
