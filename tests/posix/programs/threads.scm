; SPDX-License-Identifier: Apache-2.0
; threads.scm - Guile: a mutex, futures, cancellation; Boehm's collector stops threads by signals
(use-modules (ice-9 threads))

(define mutex (make-mutex))
(define count 0)
(define (add)
  (do ((k 0 (+ k 1))) ((= k 1000))
    (with-mutex mutex (set! count (+ count 1)))))

(for-each join-thread (map (lambda (i) (call-with-new-thread add)) (iota 20)))
(display count) (newline)
(display (apply + (par-map (lambda (x) (* x x)) (iota 1000)))) (newline)
(gc)
(let ((sleeper (call-with-new-thread (lambda () (sleep 100)))))
  (cancel-thread sleeper)
  (join-thread sleeper))
(display "end") (newline)
