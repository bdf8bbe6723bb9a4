;; SPDX-License-Identifier: Apache-2.0
;; SBCL threads; the collector stops them by signals.
(let* ((lock (sb-thread:make-mutex)) (sum 0)
       (queue (sb-thread:make-waitqueue)) (ready 0)
       (threads (loop for i below 20 collect
                  (let ((i i))
                    (sb-thread:make-thread
                      (lambda ()
                        (let ((trash nil))
                          (dotimes (k 20000) (push (make-array 10 :initial-element k) trash)
                            (when (zerop (mod k 1000)) (setf trash nil)))
                          (sb-thread:with-mutex (lock)
                            (incf sum i)
                            (incf ready)
                            (sb-thread:condition-broadcast queue)))))))))
  (dotimes (k 3) (gc))
  (sb-thread:with-mutex (lock)
    (loop while (< ready 20) do (sb-thread:condition-wait queue lock)))
  (mapc #'sb-thread:join-thread threads)
  (let ((interrupted nil) (sleeps (sb-thread:make-semaphore)) sleeper)
    (setf sleeper (sb-thread:make-thread
                    (lambda ()
                      (handler-case (progn (sb-thread:signal-semaphore sleeps) (sleep 1000))
                        (error () :cut)))))
    (sb-thread:wait-on-semaphore sleeps)
    (sb-thread:interrupt-thread sleeper (lambda () (setf interrupted t) (error "up")))
    (format t "~a ~a ~a~%" sum (sb-thread:join-thread sleeper) interrupted)))
