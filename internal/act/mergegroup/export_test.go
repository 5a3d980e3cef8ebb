package mergegroup

// Making is the run of which a command that makes files anew is a step.
var Making = making
