package watch

// Followed returns how many processes are followed.
func (w *Watcher) Followed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.watched)
}
