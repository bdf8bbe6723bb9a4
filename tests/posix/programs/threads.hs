-- SPDX-License-Identifier: Apache-2.0
-- threads.hs - GHC's threaded runtime: capabilities, safe foreign calls, bound threads, timeouts
import Control.Concurrent
import Control.Exception
import Control.Monad
import Foreign.C.Types
import System.Mem
import System.Timeout

foreign import ccall safe "unistd.h usleep" usleep :: CUInt -> IO CInt

main :: IO ()
main = do
  done <- newEmptyMVar
  total <- newMVar (0 :: Int)
  forM_ [1 .. 500] $ \i -> forkIO $ do
    when (i `mod` 10 == 0) $ void (usleep 1000)
    modifyMVar_ total (return . (+ sum [1 .. i]))
    putMVar done ()
  replicateM_ 500 (takeMVar done)
  performGC
  readMVar total >>= print
  forM_ [1 .. 20] $ \i -> forkOS $ usleep 2000 >> putMVar done () >> when (i > 20) performGC
  replicateM_ 20 (takeMVar done)
  timeout 50000 (threadDelay 100000000) >>= print
  t <- mask_ $ forkIO (threadDelay 100000000 `finally` putMVar done ())
  killThread t
  takeMVar done
  putStrLn "end"
