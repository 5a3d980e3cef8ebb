package fleet

// Find returns the first of a list of which is holds, in its place; nil when there is none.
func Find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
