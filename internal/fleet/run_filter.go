package fleet

// RunFilter keeps runs that match every field that is set.
type RunFilter struct {
	ID      string
	Formula string
	Open    bool // only those that are not over
	Limit   int  // the newest; 1000 when it is not positive
}
