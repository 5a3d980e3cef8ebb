// Package merge moves merge queues on: which items are tested together next, what the
// end of a run of gates means for them, and what becomes of them once the target has moved.
//
// The target only ever moves to a commit whose very tree has passed the gates. Of a group that
// fails, the first half is tested by itself, and so on, until one item is left that
// fails alone: what passes on the way lands. An item is blamed only when the same
// tree has failed again, and the target without it has passed.
package merge
